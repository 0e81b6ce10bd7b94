"""What roboticists call all day: dynamics, poses, Jacobians and inverse kinematics of a tree, URDF and MJCF files."""
